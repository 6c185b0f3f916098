package tuning

import "strings"

// settingOf maps the components of the document's tables, and those of today's Bullet, to Bullet's settings. The names are compared
// without case and spaces. DataSource is not here: what its spout is depends on whether there is a DataSource bolt.
var settingOf = map[string]string{
	"filterbolt": "bullet.topology.filter.bolt", "joinbolt": "bullet.topology.join.bolt",
	"queryspout": "bullet.topology.query.spout", "drpcspout": "bullet.topology.query.spout",
	"resultbolt": "bullet.topology.result.bolt", "returnresults": "bullet.topology.result.bolt", "returnresultsbolt": "bullet.topology.result.bolt",
	"loopbolt": "bullet.topology.loop.bolt", "replaybolt": "bullet.topology.replay.bolt",
	"datasourcebolt": "bullet.topology.dsl.bolt", "dslbolt": "bullet.topology.dsl.bolt", "dslspout": "bullet.topology.dsl.spout",
	"bulletspout": "bullet.topology.bullet.spout",
}

func plainName(component string) string {
	return strings.ToLower(strings.Join(strings.Fields(component), ""))
}

// prefixOf is the prefix of a component's settings; false where Bullet has none for it.
func prefixOf(component string, all []Component) (string, bool) {
	name := plainName(component)
	if name == "datasourcespout" || name == "datasource" {
		for _, c := range all {
			if plainName(c.Name) == "datasourcebolt" {
				return "bullet.topology.dsl.spout", true
			}
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
