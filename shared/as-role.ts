/** The header by which a caller asks to be given no more than a role of the organization may do. */
export const asRoleHeader = "floe-as-role";
