"""Releases: Parquet files with a dataset card, Croissant metadata, manifests and checksums; built, verified, pushed."""

from eccdata.release.building import Release as Release
from eccdata.release.building import build as build
