package tuning

import "slices"

// Each maps a list. The result is never nil, so that JSON has [] and not null.
func Each[T, U any](all []T, of func(T) U) []U {
	out := make([]U, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

// First returns the first element that fits, and whether there is one.
func First[T any](all []T, fits func(T) bool) (first T, found bool) {
	i := slices.IndexFunc(all, fits)
	if i < 0 {
		return first, false
	}
	return all[i], true
}

// Union returns all with what it does not have yet of more.
func Union[T comparable](all []T, more ...T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
