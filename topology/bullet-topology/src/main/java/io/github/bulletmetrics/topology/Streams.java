package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;

import org.apache.storm.tuple.Fields;

/**
 * The names of Bullet's components and streams, and the layout of the tuples on them.
 *
 * <pre>
 * from        stream    values
 * DataSpout   default   record: List of messages, timestamp: Long (ms, when emitted); received: List of Long (ms, the
 *                       broker's), if bullet.topology.source.timestamp.field is set. Only with the DSL bolt, which acks
 * DataSource  default   record: BulletRecord, timestamp: Long (ms, when emitted)
 * QuerySpout  default   id: String, query: PubSubMessage
 * QuerySpout  metadata  id: String, metadata: Metadata (KILL, COMPLETE; REPLAY, which is not anchored)
 * QuerySpout  replay    id: String, of the task that asks; timestamp: Long (ms, of the request); ack: Boolean (whether
 *                       the batch before arrived)
 * TickSpout   default   id: Integer, tick: Long
 * FilterBolt  default   id: String, data: byte[]
 * FilterBolt  error     id: String, error: RateLimitError
 * FilterBolt  feedback  id: String, of the task that asks; metadata: Metadata (REPLAY with the request's timestamp)
 * JoinBolt    default   id: String, result: String (JSON), metadata: Metadata (COMPLETE, FAIL; no signal for a window)
 * JoinBolt    feedback  id: String, metadata: Metadata (COMPLETE, KILL; REPLAY as from FilterBolt)
 * ReplayBolt  replay    id: String, of the task that asks; timestamp: Long; index: Integer; batch: Map from id to
 *                       PubSubMessage, or byte[] if compressed, null at the end. Direct, anchored
 * ReplayBolt  capture   no tuples; its grouping shows which join task has which index
 * </pre>
 */
public final class Streams {
    /** The DSL spout, when the DSL bolt is the source of records. */
    public static final String DATA_COMPONENT = "DataSpout";
    /** The source of records, whatever spout or bolt it is. */
    public static final String RECORD_COMPONENT = "DataSource";
    /** The spout that reads queries and signals. */
    public static final String QUERY_COMPONENT = "QuerySpout";
    /** The spout that ticks. */
    public static final String TICK_COMPONENT = "TickSpout";
    /** The bolt that sees every record. */
    public static final String FILTER_COMPONENT = "FilterBolt";
    /** The bolt that combines a query's results. */
    public static final String JOIN_COMPONENT = "JoinBolt";
    /** The bolt that publishes results. */
    public static final String RESULT_COMPONENT = "ResultBolt";
    /** The bolt that publishes signals back to the query spout. */
    public static final String LOOP_COMPONENT = "LoopBolt";
    /** The bolt that keeps queries for tasks that start late. */
    public static final String REPLAY_COMPONENT = "ReplayBolt";

    /** Records, queries, ticks, data and results. */
    public static final String DEFAULT_STREAM = "default";
    /** Signals about queries. */
    public static final String METADATA_STREAM = "metadata";
    /** Queries that emit too often. */
    public static final String ERROR_STREAM = "error";
    /** Signals to be looped back. */
    public static final String FEEDBACK_STREAM = "feedback";

    /** Requests for queries, and batches of them. */
    public static final String REPLAY_STREAM = "replay";
    /** A stream without tuples, whose grouping learns the join bolt's tasks. */
    public static final String CAPTURE_STREAM = "capture";

    static final String ID = "id";
    static final String QUERY = "query";
    static final String METADATA = "metadata";
    static final String TICK = "tick";
    static final String DATA = "data";
    static final String ERROR = "error";
    static final String RESULT = "result";
    static final String ACK = "ack";
    static final String INDEX = "index";
    static final String BATCH = "batch";
    /** The name of a record tuple's first value. */
    public static final String RECORD = "record";
    /** The name of a record or replay tuple's second value. */
    public static final String TIMESTAMP = "timestamp";
    /** What a source of records declares, and the DSL spout before its bolt. */
    public static final Fields RECORD_FIELDS = new Fields(RECORD, TIMESTAMP);
    /** What the DSL spout declares where the broker's timestamps go with the messages. */
    public static final Fields TIMED_BATCH_FIELDS = new Fields(RECORD, TIMESTAMP, "received");

    private Streams() {
    }

    static boolean endsQuery(Metadata.Signal signal) {
        return signal == Metadata.Signal.KILL || signal == Metadata.Signal.COMPLETE;
    }

    /** How a task names itself when it asks for queries. */
    static String taskName(String component, int task) {
        return component + "-" + task;
    }
}
