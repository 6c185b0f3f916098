package io.github.bulletmetrics.storm.noharm;

/** How often what is reported, s. */
enum Intervals {
    /** As the document ran: bullet_active_queries every 5 s, all else every 60 s. */
    DOCUMENT(60, 5),
    /** As register() sets, with Bullet's own default: everything every 10 s. */
    REGISTER(10, 10);

    final int seconds;
    final int activeQueriesSeconds;

    Intervals(int seconds, int activeQueriesSeconds) {
        this.seconds = seconds;
        this.activeQueriesSeconds = activeQueriesSeconds;
    }
}
