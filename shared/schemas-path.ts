/** Grows with any change that a reader of the schemas could stumble over. */
export const schemasVersion = 1;
/** Where a server publishes its JSON Schemas. */
export const schemasPath = `/schemas/v${schemasVersion}`;
