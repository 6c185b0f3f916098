package tuning

import "strings"

// settingOf maps the components of the document's tables, and those of today's Bullet, to Bullet's settings. The names
// are compared without case and spaces. DataSource is not here: it is the DSL's bolt where there is a DataSpout, the
// DSL's spout where there is a DataSource bolt, and Bullet's spout where there is neither.
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

// tickSpout is always one, so that Bullet has no parallelism for it. ackers are Storm's, whose number Bullet hands on.
const (
	tickSpout = "bullet.topology.tick.spout"
	ackers    = "bullet.topology.custom.topology.acker"
)

// parallelismOf is the setting of a component's instances; "" where it has none.
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

// prefixOf is the prefix of a component's settings; false where Bullet has none for it.
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

// filterBolt is the plain name of the component that queries are paid for in.
const filterBolt = "filterbolt"

// componentNamed finds a component by its plain name.
func componentNamed(name string, all []Component) (Component, bool) {
	for _, c := range all {
		if plainName(c.Name) == name {
			return c, true
		}
	}
	return Component{}, false
}
