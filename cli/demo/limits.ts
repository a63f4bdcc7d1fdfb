/** The limits of a demo shop: time, size and requests. */
export const monthsMax = 24;
export const seedsMax = 1_000_000;
/** New customers in the first month; one more in each later month, up to the second number. */
export const [newCustomersMin, newCustomersMax] = [8, 24];
/** The clock stops so often in a month: on each of these days customers come, and usage is reported. */
export const stopsPerMonth = 5;
/** A server that is slower than this is not a place for trials. */
export const durationMaxMs = 30 * 60_000;
