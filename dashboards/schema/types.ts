// What a dashboard of ours may be: Grafana's own types (@grafana/schema), as they look in JSON, joined by the kinds of panels that we
// use. A property that Grafana does not know is an error, and so is one of another type.
import type { AnnotationQuery, Dashboard, FieldConfigSource, Panel, RowPanel, VariableModel } from '@grafana/schema';
import type * as TimeSeries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as Heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as Table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';

/** T as it looks in JSON: an enum of texts is one of the texts. */
type Json<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T : T extends (infer U)[] ? Json<U>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

/** Known properties only: Grafana lets custom field options be anything beside those of the panel's kind. */
interface Fields<T> extends Omit<FieldConfigSource, 'defaults'> {
  defaults: Omit<FieldConfigSource['defaults'], 'custom'> & { custom?: T };
}

/** The Prometheus data source's query; its types are in no package that can be had without all of Grafana. */
interface Target {
  refId: string;
  datasource: { type: 'prometheus'; uid: '${datasource}' };
  expr: string;
  legendFormat: string;
  interval: string;
  format: 'time_series' | 'table' | 'heatmap';
  instant: boolean;
  range: boolean;
  editorMode: 'code';
}

interface Of<Kind extends string, Options, Custom> extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets' | 'title' | 'description' | 'gridPos' | 'id'> {
  id: number;
  type: Kind;
  title: string;
  description: string;
  gridPos: NonNullable<Panel['gridPos']>;
  options: Options;
  fieldConfig: Fields<Custom>;
  targets: Target[];
}

type AnyPanel =
  | Of<'timeseries', TimeSeries.Options, TimeSeries.FieldConfig>
  | Of<'stat', Stat.Options, never>
  | Of<'heatmap', Heatmap.Options, Heatmap.FieldConfig>
  | Of<'table', Table.Options, { align: string; filterable: boolean }>
  | Omit<RowPanel, 'title'> & { title: string };

/** What the Prometheus data source adds to an annotation. */
interface Annotation extends Omit<AnnotationQuery, 'target'> {
  target?: { refId: string; expr: string; interval: string };
  expr?: string;
  step?: string;
  titleFormat?: string;
  textFormat?: string;
  tagKeys?: string;
  useValueForTime?: boolean;
}

/** definition is what the variable's editor shows of its query. */
interface Variable extends VariableModel {
  definition?: string;
}

interface Ours extends Omit<Dashboard, 'panels' | 'annotations' | 'templating'> {
  uid: string;
  id: null;
  title: string;
  panels: AnyPanel[];
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
}

export type DashboardJSON = Json<Ours>;
