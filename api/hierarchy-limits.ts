/** The limits of the hierarchy service. */
export const hierarchyLimits = {
  hierarchies: 100,
  nodesPerHierarchy: 200_000,
  /** The maximum number of levels of a tree. */
  levels: 32,
  nodesPerBatch: 1_000,
  nodesCopied: 10_000,
  /** The maximum size of the properties of all copied nodes, as JSON text. */
  copyBytes: 8 * 1024 * 1024,
  nodesImported: 20_000,
  importBytes: 8 * 1024 * 1024,
  /** The maximum number of children of a node that another service reads with all nodes below them. */
  childrenResolved: 300,
  /** The maximum number of nodes of a hierarchy that another service reads with their names. */
  treeResolved: 5_000,
  assetsAssigned: 1_000,
  /** The maximum number of assets in one request for paths. */
  assetsWithPaths: 100,
  /** The maximum number of nodes on all paths in one response. The paths of three assets never exceed it. */
  pathNodes: 10_000,
  /** The maximum number of assets that one assignment by filter changes. */
  assetsPerAssignment: 200_000,
  /** The maximum number of assignments of a tenant that wait or run in the background. Undos are not limited by it. */
  unfinishedAssignments: 20,
  /** The maximum number of assignments and undos of a user that wait or run in the background. */
  unfinishedAssignmentsOfUser: 5,
  relationsCleaned: 10_000,
  properties: 64,
  /** The maximum size of the properties of all nodes of a hierarchy, as JSON text. */
  propertyBytes: 64 * 1024 * 1024,
  /**
   * The maximum number of exports of a tenant that each process prints at the same time. Up to 16 others wait, and further
   * requests get 503. An export that is being sent does not count.
   */
  concurrentExports: 2,
  /** The maximum number of imports and dry runs of a tenant that run at the same time in each process, as for exports. */
  concurrentImports: 2,
  /** The maximum size of an export. */
  exportBytes: 256 * 1024 * 1024,
  /** The maximum size of the nodes of one hierarchy for the export service, as JSON text. The text is in memory. */
  exportTreeBytes: 64 * 1024 * 1024,
  /** The maximum size of the exports of a user in each process that are not read completely. Further exports get 503. */
  unreadExportBytes: 512 * 1024 * 1024,
  /** The time in which the client must read an export completely. Then the connection is closed. */
  exportSeconds: 3_600,
  rules: 200,
  proposals: 1_000,
  /** The maximum time until a change appears in the stored counts. */
  lagSeconds: 2,
  /** The number of days for which ended assignments, moves and deleted nodes without relations are stored. */
  retentionDays: 90,
  /** The maximum number of different properties in a CSV file. */
  csvProperties: 256,
} as const
