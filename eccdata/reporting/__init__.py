"""`eccdata report`: results as one page for a reader, and its charts as pictures.

The folder is not called `report` because `eccdata.report` is the verb, and a module of that name would hide it.
"""

from eccdata.reporting.figures import Figure, figures
from eccdata.reporting.writing import Report, report

__all__ = ["Figure", "Report", "figures", "report"]
