/**
 * A second wall behind all that reads what comes from outside. Loaded before anything is served, in a process's first
 * module: nobody reaches the prototype that all objects share by its old name, as `node --disable-proto=delete` has it, and
 * nobody gives that prototype a key more, which every object of every request would then have. What is there already can be
 * overridden as ever, which a frozen prototype would forbid to libraries that do so.
 */
Reflect.deleteProperty(Object.prototype, "__proto__");
Object.preventExtensions(Object.prototype);
