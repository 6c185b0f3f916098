package query

import (
	"errors"

	"github.com/prometheus/prometheus/storage"
)

// ErrNoStore means that there is nothing to query, because this collector does not store slices itself.
var ErrNoStore = errors.New(
	"this collector keeps no slices of its own (store.embedded.enabled is false): ask the store that it sends them to, or name it in query.url")

// Absent is a placeholder for a missing store. Every query to it ends with ErrNoStore.
var Absent storage.Queryable = absent{}

type absent struct{}

func (absent) Querier(int64, int64) (storage.Querier, error) { return nil, ErrNoStore }
