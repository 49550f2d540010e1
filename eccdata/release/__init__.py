"""Releases: Parquet files with a dataset card, Croissant metadata, manifests and checksums; built, verified, pushed."""

from eccdata.release.building import Release as Release
from eccdata.release.building import build as build
from eccdata.release.loading import load_dataset as load_dataset
from eccdata.release.pushing import Push as Push
from eccdata.release.pushing import push as push
from eccdata.release.verifying import Verification as Verification
from eccdata.release.verifying import verify as verify
