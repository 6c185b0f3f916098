// Package chart draws figures from values: lines over time, points with what was fitted to them, bars and ranges, as
// SVG and PNG. Each kind is a struct with all that it shows, and makes a Figure. The package never knows what its
// numbers are of.
package chart
