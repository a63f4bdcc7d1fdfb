/**
 * Stands in a statement that PostgreSQL is to plan for its very values each time, so that its text is never kept prepared. A
 * million rows may match one text or one value of metadata, and ten rows another. A plan for any value would read the million to
 * find the ten.
 */
export const unpreparedPlan = "/* unprepared plan */";
