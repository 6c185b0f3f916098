package dashboardtest

import "encoding/json"

// Dashboard is what is judged of a dashboard's JSON.
type Dashboard struct {
	UID           string
	Title         string
	Description   string
	Tags          []string
	SchemaVersion int
	Editable      bool
	GraphTooltip  int
	Refresh       string
	Annotations   struct{ List []Annotation }
	Templating    struct{ List []Variable }
	Panels        []Panel
}

// Annotation is a query for marks on the time axis.
type Annotation struct {
	Name       string
	BuiltIn    int
	Datasource Datasource
	Expr       string
	Target     struct{ Expr string }
}

// Datasource is a reference to one.
type Datasource struct{ Type, UID string }

// Variable is one of a dashboard's.
type Variable struct {
	Name, Label, Description, Type string
	Datasource                     Datasource
	Query                          Query
	Refresh                        int
	IncludeAll                     bool
	Current                        *json.RawMessage
}

// Query of a variable: a text, or an object with one.
type Query struct{ Text string }

// UnmarshalJSON takes either.
func (q *Query) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &q.Text); err == nil {
		return nil
	}
	var object struct{ Query string }
	err := json.Unmarshal(data, &object)
	q.Text = object.Query
	return err
}

// Panel is a panel, or a row's head.
type Panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Collapsed                bool
	Panels                   []Panel
	Datasource               Datasource
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct {
				Steps []struct{ Value *float64 }
			}
			Custom struct {
				SpanNulls       any
				ThresholdsStyle struct{ Mode string }
			}
		}
	}
	Targets         []Target
	Transformations []Transformation
}

// Transformation changes what is shown of a query's answer.
type Transformation struct {
	ID      string
	Options json.RawMessage
}

// Target is one query of a panel.
type Target struct {
	RefID, Expr, LegendFormat, Interval, Format string
	Instant                                     bool
	Datasource                                  Datasource
}
