// Package otherclient tests the collector's binary with a client in another language: proto/examples/python was written
// from the schema and its comments alone, and keeps its own ledger of what was acknowledged. It needs
// build/bullet-metrics and the Python that make test-client leaves in build/python, and so is built only with the tag
// client.
package otherclient
