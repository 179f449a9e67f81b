"""Pages over a folder of work: its history, labelling, rating, pairs of answers. They parse, call, and show.

`desk` has what all pages share, `visits` who asks and in which language, `rendering` turns records into pages, and each
other module has the pages of one kind of work. `opening` puts them on the web server.
"""
