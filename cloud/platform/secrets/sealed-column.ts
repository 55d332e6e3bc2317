/**
 * A column with sealed values. Each owner of such a column declares it, so that a rotation finds its values. `of` is
 * the key: a tenant's data key (`context.safe`), or the platform's own (`context.secrets`) in a table that all tenants
 * share.
 */
export type SealedColumn = {
  readonly of: 'tenant' | 'platform'
  readonly table: string
  readonly column: string
  /** The primary key, without the tenant. */
  readonly key: readonly string[]
  /** Other columns that the value is bound to. They never change. */
  readonly boundTo?: readonly string[]
  /** The owner that the value of a row was bound to. The columns are passed as text. */
  readonly belongsTo: (row: Readonly<Record<string, string>>) => string
}
