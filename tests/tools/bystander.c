/* A library that has nothing to do with memory. */
int snug_tools_bystander(void);
int snug_tools_bystander(void) { return 1; }
