"""The formats that blocks are written in, one module each; `report.document` has the table of them."""
