/** The limits of the import service. */
export const importLimits = {
  /** The maximum size of an uploaded file. */
  fileBytes: 32 * 1024 * 1024,
  /** The maximum size of the content of a compressed file (.xlsx, .aasx) after decompression. */
  unpackedBytes: 1024 * 1024 * 1024,
  /** The maximum number of entries of a compressed file. */
  zipEntries: 10_000,
  /** The maximum number of rows of a file, without the heading. */
  rows: 200_000,
  columns: 256,
  headingCharacters: 256,
  cellCharacters: 8_192,
  /** The maximum number of characters of a cell, and of a document, in the list of rows. The report contains everything. */
  shownCharacters: 256,
  shownDocumentCharacters: 4_096,
  /** The maximum number of characters of one line of an NDJSON file. */
  lineCharacters: 1024 * 1024,
  /** The maximum number of characters of all rows of a file. The cells of a workbook can share one string. */
  rowCharacters: 256 * 1024 * 1024,
  /** The time in which a file must be read completely. */
  parseSeconds: 120,
  /** The memory of the process that reads a file. */
  parseMebibytes: 256,
  /**
   * The number of files that a process of the platform reads at the same time, for all tenants and for one tenant, and the
   * number of files of one tenant that wait.
   */
  readers: 8,
  readersOfTenant: 3,
  waitingReaders: 16,
  /** The number of imports of a tenant that run at the same time. The others wait in the order of their upload. */
  running: 2,
  /** The maximum number of imports of a tenant that wait or run. */
  unfinished: 20,
  /** The maximum number of imports that are stored for a tenant, and the maximum size of their files and rows. */
  stored: 1_000,
  storedBytes: 2 * 1024 * 1024 * 1024,
  /** The number of days for which an import is stored after its end. */
  retentionDays: 30,
  mappings: 100,
  /** The number of rows that a suggestion of a mapping reads. */
  suggestionRows: 100,
} as const
