package query

import (
	"errors"

	"github.com/prometheus/prometheus/storage"
)

// joined is several stores that are read as one.
type joined []storage.Queryable

// Join reads several stores as one. A series that is in more than one has the samples of all.
func Join(stores ...storage.Queryable) storage.Queryable { return joined(stores) }

func (j joined) Querier(minMs, maxMs int64) (storage.Querier, error) {
	var all []storage.Querier
	for _, store := range j {
		q, err := store.Querier(minMs, maxMs)
		if err != nil {
			for _, open := range all {
				err = errors.Join(err, open.Close())
			}
			return nil, err
		}
		all = append(all, q)
	}
	return storage.NewMergeQuerier(all, nil, storage.ChainedSeriesMerge), nil
}
