"""Load on a target and the time of every call: this part measures, it judges nothing."""
