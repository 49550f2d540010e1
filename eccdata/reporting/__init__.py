"""`eccdata report`: results as one page for a reader, and its charts as pictures.

The folder is not called `report` because `eccdata.report` is the verb, and a module of that name would hide it.
"""
