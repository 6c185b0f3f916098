package dashboard

// Types of Grafana's dashboard schema v1, as far as the boards use it. dashboards/schema checks the result against the
// types that Grafana publishes.

type document struct {
	UID           string              `json:"uid"`
	ID            *int                `json:"id"` // null, because the uid identifies the dashboard
	Title         string              `json:"title"`
	Description   string              `json:"description"`
	Tags          []string            `json:"tags"`
	SchemaVersion int                 `json:"schemaVersion"`
	Editable      bool                `json:"editable"`
	GraphTooltip  int                 `json:"graphTooltip"` // 1 means a shared crosshair
	LiveNow       bool                `json:"liveNow"`
	Refresh       string              `json:"refresh"`
	Time          map[string]string   `json:"time"` // keys from and to
	Timezone      string              `json:"timezone"`
	Links         []link              `json:"links"`
	Annotations   list[annotation]    `json:"annotations"`
	Templating    list[variableModel] `json:"templating"`
	Panels        []panelModel        `json:"panels"`
}

type list[T any] struct {
	List []T `json:"list"`
}

type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
	TargetBlank bool     `json:"targetBlank"`
	Icon        string   `json:"icon"`
	Tooltip     string   `json:"tooltip"`
}

type dataSource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// prometheus is the data source that the dashboard's own variable selects.
var prometheus = &dataSource{"prometheus", "${datasource}"}

type annotation struct {
	Name            string            `json:"name"`
	Datasource      *dataSource       `json:"datasource"`
	BuiltIn         int               `json:"builtIn,omitempty"`
	Type            string            `json:"type,omitempty"`
	Enable          bool              `json:"enable"`
	Hide            bool              `json:"hide"`
	IconColor       string            `json:"iconColor"`
	Target          *annotationTarget `json:"target,omitempty"`
	Expr            string            `json:"expr,omitempty"` // same as in Target, for Grafana before 12
	Step            string            `json:"step,omitempty"`
	TitleFormat     string            `json:"titleFormat,omitempty"`
	TextFormat      string            `json:"textFormat,omitempty"`
	TagKeys         string            `json:"tagKeys,omitempty"`
	UseValueForTime *bool             `json:"useValueForTime,omitempty"`
}

type annotationTarget struct {
	RefID    string `json:"refId"`
	Expr     string `json:"expr"`
	Interval string `json:"interval"`
}

type variableModel struct {
	Name        string      `json:"name"`
	Label       string      `json:"label"`
	Description string      `json:"description"`
	Type        string      `json:"type"`
	Datasource  *dataSource `json:"datasource,omitempty"`
	Query       any         `json:"query"`
	Definition  string      `json:"definition,omitempty"`
	Regex       string      `json:"regex"`
	Refresh     int         `json:"refresh,omitempty"`
	Sort        int         `json:"sort,omitempty"`
	Multi       bool        `json:"multi"`
	IncludeAll  bool        `json:"includeAll"`
	AllValue    string      `json:"allValue,omitempty"`
	Hide        int         `json:"hide"`
	SkipURLSync bool        `json:"skipUrlSync"`
	Current     *option     `json:"current,omitempty"`
	Options     []option    `json:"options"`
}

type option struct {
	Selected bool `json:"selected"`
	Text     any  `json:"text"`
	Value    any  `json:"value"`
}

type position struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// panelModel is a panel or, if its type is row, the heading of a row.
type panelModel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	GridPos         position         `json:"gridPos"`
	Collapsed       *bool            `json:"collapsed,omitempty"`
	Panels          *[]panelModel    `json:"panels,omitempty"`
	Datasource      *dataSource      `json:"datasource,omitempty"`
	FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
	Options         map[string]any   `json:"options,omitempty"`
	Targets         []target         `json:"targets,omitempty"`
	Transformations []transformation `json:"transformations,omitempty"`
}

type target struct {
	RefID        string      `json:"refId"`
	Datasource   *dataSource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Interval     string      `json:"interval"`
	Format       string      `json:"format"`
	Instant      bool        `json:"instant"`
	Range        bool        `json:"range"`
	EditorMode   string      `json:"editorMode"`
}

type transformation struct {
	ID      string         `json:"id"`
	Options map[string]any `json:"options"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []any         `json:"overrides"`
}

type fieldDefaults struct {
	Unit       Unit             `json:"unit"`
	Min        *float64         `json:"min,omitempty"`
	Color      map[string]any   `json:"color,omitempty"`
	Links      []map[string]any `json:"links,omitempty"`
	Thresholds map[string]any   `json:"thresholds"`
	Custom     map[string]any   `json:"custom,omitempty"`
}
