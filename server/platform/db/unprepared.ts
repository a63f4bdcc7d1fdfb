/**
 * Stands in a statement that PostgreSQL is to plan for its very values each time, so that its text is never kept prepared: of
 * what one customer writes into metadata a million rows may have one value and ten another, and a plan for any of them would
 * walk the million to find the ten.
 */
export const unpreparedPlan = "/* unprepared plan */";
