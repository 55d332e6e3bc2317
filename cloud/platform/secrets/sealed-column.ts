/**
 * `SealedColumn` is a column with sealed values. Each owner of such a column declares it, so that a rotation finds its
 * values. `of` names the key: a tenant's data key (`context.safe`), or the platform key (`context.secrets`) in a table
 * that all tenants share.
 */
export type SealedColumn = {
  readonly of: 'tenant' | 'platform'
  readonly table: string
  readonly column: string
  /** The columns of the primary key, without the tenant. */
  readonly key: readonly string[]
  /** Other columns that the sealed value is bound to. They never change. */
  readonly boundTo?: readonly string[]
  /** Returns the owner that the value of a row is bound to. The values of the columns are passed as text. */
  readonly belongsTo: (row: Readonly<Record<string, string>>) => string
}
