package main

import (
	"errors"
	"slices"
	"syscall"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
)

// unlessFull is what went wrong as something was closed, unless only room on the disk was missing: that is no failure,
// since the journal, which is closed in order, has what was acknowledged.
func (col *collector) unlessFull(what string, err error) error {
	if err != nil && onlyRoomIsMissing(err) {
		col.logger.Warn("there is no room on the disk for what was held; the next start goes on from the journal", "of",
			what, "error", err)
		return nil
	}
	return err
}

// onlyRoomIsMissing reports whether all that went wrong is that the disk is full.
func onlyRoomIsMissing(err error) bool {
	if several, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !onlyRoomIsMissing(err) })
	}
	if errors.Is(err, grid.ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		within := errors.Unwrap(err)
		return within == nil || onlyRoomIsMissing(within)
	}
	return false
}
