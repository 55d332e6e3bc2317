/** The roles in the certificates that a gateway creates. A certificate has its role in the organisational unit. */
export const certificateRoles = ['gateway', 'link', 'agent'] as const
export type CertificateRole = (typeof certificateRoles)[number]

/**
 * The name in the certificate of every gateway. Links can use it instead of the address of the gateway, because the authority
 * of a gateway signs no other certificate with the role `gateway`.
 */
export const gatewayTlsName = 'millwright-gateway'

/** The name that a gateway requests from a link. The gateway identifies the link by its certificate. */
export const linkTlsName = 'asset-link'

type Subject = { OU?: unknown; CN?: unknown }

/** Returns the role and the name in the subject of a certificate. Returns undefined if one of them is missing. */
export function certificateOwner(subject: Subject | undefined): { role: CertificateRole; name: string } | undefined {
  const role = certificateRoles.find((one) => one === subject?.OU)
  return role === undefined || typeof subject?.CN !== 'string' ? undefined : { role, name: subject.CN }
}
