"""localstripe on a port of loopback, with two things that Stripe has and it lacks: an invoice of single items, and a number on
each, which here is the one in its metadata."""

import sys

from aiohttp import web
from localstripe import resources, server

resources.store.dump_to_disk = lambda: None
resources.Invoice.number = property(lambda invoice: invoice.metadata.get("number"))
resources.Invoice._api_create = classmethod(
    lambda cls, customer=None, metadata=None: cls(customer=customer, metadata=metadata)
)
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
