import type { Application, Tenant } from '../../../platform/tenants/store.ts'

/** Why nobody of this tenant gets in through this application; undefined when they do. */
export function whyClosed(tenant: Tenant, application: Application): string | undefined {
  if (tenant.state === 'suspended') return `The tenant ${tenant.name} is suspended`
  if (tenant.applications.includes(application)) return undefined
  return `The tenant ${tenant.name} does not have the application ${application}: millwright tenants provision ${tenant.name} ${application} adds it`
}
