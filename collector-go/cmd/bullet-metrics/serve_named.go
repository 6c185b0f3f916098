package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/rulesengine"
)

// checkNamed reads the files and directories that settings name, those about who may enter apart, and returns all that
// is wrong with them. It is asked before a port or the data directory is touched, so that none of these faults hides
// behind another.
func checkNamed(c config.Config) error {
	return errors.Join(checkRules(c), callees(c, false, &rulesengine.Options{}), checkStores(c), checkQuery(c.Query),
		checkRuns(c.Runs))
}

func checkQuery(c config.Query) error {
	if c.URL == "" {
		return nil
	}
	_, err := remoteEngine(c)
	return err
}

func checkRules(c config.Config) error {
	files, err := ruleFiles(c.Rules.Files)
	return errors.Join(err, rulesengine.Check(files, queryOptions(c.Query).Parser()))
}

// checkStores makes each store's protocol, which connects to nothing.
func checkStores(c config.Config) (err error) {
	for _, kind := range forward.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			store := c.Stores[kind.Name][name]
			at, bad := receiver(store)
			if bad == nil {
				_, bad = kind.Build(at, store.Own).Protocol()
			}
			if bad != nil {
				err = errors.Join(err, fmt.Errorf("store.%s.%s.%w", kind.Name, name, bad))
			}
		}
	}
	return err
}

func checkRuns(r config.Runs) error {
	if r.Dir == "" {
		return nil
	}
	info, err := os.Stat(r.Dir)
	switch {
	case err != nil:
		return fmt.Errorf("runs.dir: %w; name the directory that holds the runs, or leave it out", err)
	case !info.IsDir():
		return fmt.Errorf("runs.dir: %s is no directory; name the one that holds the runs", r.Dir)
	}
	return nil
}
