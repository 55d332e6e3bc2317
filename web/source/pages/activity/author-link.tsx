import { Link } from '@tanstack/react-router'
import { PrincipalLink } from '../../components/values/principal-link.tsx'
import { authorName, isGatewayAuthor } from './author-name.ts'

type AuthorLinkProps = { principal: string | null; principalName: string }

/** `AuthorLink` is the name of the author of a change, with a link to the page of the account or of the gateway. */
export function AuthorLink({ principal, principalName }: AuthorLinkProps) {
  const name = authorName(principalName)
  if (principal !== null && isGatewayAuthor(principalName))
    return <Link to={`/discovery/gateways/${principal}`}>{name}</Link>
  return <PrincipalLink id={principal} name={name} />
}
