import { Link } from '@tanstack/react-router'
import { usePermission } from '../../app/session/app-context.tsx'

type PrincipalLinkProps = { id: string | null | undefined; name: string }

/**
 * `PrincipalLink` is the name of a user or of a service account. It links to the page of the account, for users who may see
 * accounts. A principal without an id has no page.
 */
export function PrincipalLink({ id, name }: PrincipalLinkProps) {
  const canOpen = usePermission('glb_access_manage')
  if (!canOpen || id === null || id === undefined) return name
  return <Link to={`/access/people/${id}`}>{name}</Link>
}
