// Package chart draws figures as SVG and PNG: lines over time, points with a fitted curve, bars and ranges. Each kind
// is a struct with everything that it shows, and makes a Figure, so a caller chooses the values and this package
// chooses axes, colours and sizes.
//
// It must not know what its numbers mean. Start with Figure; plot.go, bars.go, ranges.go and timeline.go are the kinds.
package chart
