"""The table `backbone_prices`: what the fourteen backbones cost (eccbench.txt, Table 12), whoever was run."""

from __future__ import annotations

import duckdb

from eccdata.flops.backbones import backbone_prices


def add_backbone_prices(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `backbone_prices`: a row for each architecture, width and length of the paper, in the order of Table 12.

    `place` is the architecture's number in it, from 1; `flops_write` is of a stream, `flops_read` of one question,
    `flops` of both.
    """
    connection.execute("""
        CREATE TABLE backbone_prices (
            place INTEGER, architecture VARCHAR, width INTEGER, length INTEGER, flops_write DOUBLE, flops_read DOUBLE,
            flops DOUBLE
        )
    """)
    prices = backbone_prices()
    places = {name: place for place, name in enumerate(dict.fromkeys(price.model for price in prices), 1)}
    connection.executemany(
        "INSERT INTO backbone_prices VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            [
                places[price.model],
                price.model,
                price.width,
                price.length,
                float(price.flops_write),
                float(price.flops_read),
                float(price.flops),
            ]
            for price in prices
        ],
    )
