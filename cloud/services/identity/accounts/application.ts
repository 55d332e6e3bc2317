import type { Application, Tenant } from '../../../platform/tenants/store.ts'

/** Returns the reason why users of this tenant cannot use the application. Returns `undefined` when they can. */
export function unavailabilityReason(tenant: Tenant, application: Application): string | undefined {
  if (tenant.state === 'suspended') return `The tenant ${tenant.name} is suspended`
  if (tenant.applications.includes(application)) return undefined
  return `The application ${application} is not provisioned for the tenant ${tenant.name}. Provision it with: millwright tenants provision ${tenant.name} ${application}`
}
