/** The predicate of the relation from an asset to its node. */
export const assignmentPredicate = 'is_assigned_to_node'
