"""Analysis is SQL: DuckDB views over run folders, one query of one's own, and the papers' tables.

The folder is not called `tables` because `eccdata.tables` is the verb, and a module of that name would hide it.
"""

from eccdata.analysis.adhoc import Format, QueryTable, Written, sql
from eccdata.analysis.header import Column, Header
from eccdata.analysis.runs import Run, find_runs
from eccdata.analysis.tabulate import TableResult, tables
from eccdata.analysis.views import connect

__all__ = [
    "Column",
    "Format",
    "Header",
    "QueryTable",
    "Run",
    "TableResult",
    "Written",
    "connect",
    "find_runs",
    "sql",
    "tables",
]
