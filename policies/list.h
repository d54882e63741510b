/*
 * list.h: the registry of batching policies. A new one is a file in this folder that defines
 * `const struct policy_ops policy_NAME`, and one line here. README.md shows how.
 */
POLICY(static)
POLICY(continuous)
POLICY(paged)
