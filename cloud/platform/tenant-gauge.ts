import type { Statement } from './database/statement.ts'

/** `TenantGauge` is a metric with one value per tenant, or per tenant and label. A statement reads it. */
export type TenantGauge = {
  name: string
  help: string
  /** The name of the label, in addition to `tenant`. */
  label?: string
  /** How the values of the tenants without an own label are combined. */
  combine: 'sum' | 'max'
  statement: Statement<GaugeRow>
  /** The parameters of the statement after the tenant. */
  values?: () => unknown[]
}

export type GaugeRow = { label?: string; value: number }
