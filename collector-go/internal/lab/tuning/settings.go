package tuning

import "strings"

// settingOf maps components of the document's tables, and of today's Bullet, to Bullet's settings. Names are compared
// without case and spaces. DataSource is missing, because its meaning depends on the other components. It is the DSL's
// bolt if there is a DataSpout, the DSL's spout if there is a DataSource bolt, and otherwise Bullet's spout.
var settingOf = map[string]string{
	"filterbolt": "bullet.topology.filter.bolt", "joinbolt": "bullet.topology.join.bolt",
	"queryspout": "bullet.topology.query.spout", "drpcspout": "bullet.topology.query.spout",
	"resultbolt": "bullet.topology.result.bolt", "returnresults": "bullet.topology.result.bolt",
	"returnresultsbolt": "bullet.topology.result.bolt",
	"loopbolt":          "bullet.topology.loop.bolt", "replaybolt": "bullet.topology.replay.bolt",
	"datasourcebolt": "bullet.topology.dsl.bolt", "dslbolt": "bullet.topology.dsl.bolt",
	"dslspout":    "bullet.topology.dsl.spout",
	"bulletspout": "bullet.topology.bullet.spout", "dataspout": "bullet.topology.dsl.spout", "tickspout": tickSpout,
	"__acker": ackers, "ackers": ackers,
}

// tickSpout always has one instance, so Bullet has no parallelism setting for it. ackers is Storm's setting, which
// Bullet passes on.
const (
	tickSpout = "bullet.topology.tick.spout"
	ackers    = "bullet.topology.custom.topology.acker"
)

// parallelismOf returns the setting for a component's number of instances; "" if there is none.
func parallelismOf(prefix string) string {
	switch prefix {
	case tickSpout:
		return ""
	case ackers:
		return prefix + ".executors"
	}
	return prefix + ".parallelism"
}

func plainName(component string) string {
	return strings.ToLower(strings.Join(strings.Fields(component), ""))
}

// prefixOf returns the prefix of a component's settings; false if Bullet has none for it.
func prefixOf(component string, all []Component) (string, bool) {
	name := plainName(component)
	if name == "datasourcespout" || name == "datasource" {
		if _, before := componentNamed("dataspout", all); before {
			return "bullet.topology.dsl.bolt", true
		}
		if _, brokered := componentNamed("datasourcebolt", all); brokered {
			return "bullet.topology.dsl.spout", true
		}
		return "bullet.topology.bullet.spout", true
	}
	prefix, found := settingOf[name]
	return prefix, found
}

// filterBolt is the plain name of the component whose cost depends on the queries.
const filterBolt = "filterbolt"

// componentNamed returns the component with a plain name.
func componentNamed(name string, all []Component) (Component, bool) {
	return First(all, func(c Component) bool { return plainName(c.Name) == name })
}
