/** How a condition of a meter's filter compares. By itself, so that whoever only reads filters loads no schemas. */
export const filterOperators = ["eq", "ne", "gt", "gte", "lt", "lte", "like", "not_like"] as const;
