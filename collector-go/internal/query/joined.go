package query

import (
	"github.com/prometheus/prometheus/storage"
)

// joined is a store that is read with what lies beside it.
type joined struct {
	store  storage.Queryable
	beside []storage.Queryable
}

// Join reads a store and what lies beside it as one. A series that is in more than one has the samples of all. What lies beside the store
// can be done without: where it cannot be read a query has the store's answer, with a warning.
func Join(store storage.Queryable, beside ...storage.Queryable) storage.Queryable {
	return joined{store, beside}
}

func (j joined) Querier(minMs, maxMs int64) (storage.Querier, error) {
	first, err := j.store.Querier(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	var rest []storage.Querier
	for _, store := range j.beside {
		q, err := store.Querier(minMs, maxMs)
		if err != nil {
			q = unreadable{err}
		}
		rest = append(rest, q)
	}
	return storage.NewMergeQuerier([]storage.Querier{first}, rest, storage.ChainedSeriesMerge), nil
}
