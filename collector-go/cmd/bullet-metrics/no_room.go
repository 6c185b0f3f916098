package main

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid"
)

// closeStore writes what the store inside the collector holds. Where the disk is full that is no failure: the journal, which is closed in order, has it,
// and the next start brings it in.
func (col *collector) closeStore(ctx context.Context) error {
	if col.store == nil {
		return nil
	}
	err := col.store.Close(ctx)
	if err != nil && onlyRoomIsMissing(err) {
		col.logger.Warn("the store has no room for what it held; the journal has it, and the next start brings it in", "error", err)
		return nil
	}
	return err
}

// onlyRoomIsMissing says whether all that went wrong is that the disk is full.
func onlyRoomIsMissing(err error) bool {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !onlyRoomIsMissing(err) })
	}
	if errors.Is(err, grid.ErrNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		within := errors.Unwrap(err)
		return within == nil || onlyRoomIsMissing(within)
	}
	return false
}
