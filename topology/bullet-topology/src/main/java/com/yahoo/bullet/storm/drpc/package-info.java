/**
 * Storm's DRPC as a PubSub, under the names and settings that Bullet's has. A query is the argument of a DRPC call, and
 * its one result is what that call returns; so there can be no windows.
 */
package com.yahoo.bullet.storm.drpc;
