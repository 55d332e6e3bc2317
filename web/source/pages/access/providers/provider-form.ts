import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import type { Input } from '../../../app/api/client.ts'

export type ProviderChange = Input<'identity', 'updateIdentityProvider'>['body']['data']
/** Changes a provider. With an ETag, a change of another request since the ETag was read is not overwritten. */
export type ChangeProvider = (data: ProviderChange, etag?: string) => Promise<void>
export type NewProvider = Input<'identity', 'createIdentityProvider'>['body']['data']
export type Mapping = IdentityProvider['mappings'][number]

/** `NewProviderForm` contains the fields of a new identity provider as the user types them. */
export type NewProviderForm = Record<'title' | 'name' | 'issuer' | 'clientId' | 'clientSecret', string>

/** Returns a name for a title: lower-case letters, digits and dashes. */
export function suggestedName(title: string): string {
  return title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 63)
    .replace(/-+$/, '')
}

export function newProviderOf(form: NewProviderForm): NewProvider {
  return {
    title: form.title.trim(),
    name: form.name.trim(),
    issuer: form.issuer.trim(),
    clientId: form.clientId.trim(),
    ...(form.clientSecret !== '' && { clientSecret: form.clientSecret }),
  }
}

/** `ProviderForm` contains the changeable fields of an identity provider as the user types them. */
export type ProviderForm = Record<
  'title' | 'clientId' | 'clientSecret' | 'scopes' | 'nameClaim' | 'groupsClaim' | 'apiAudience',
  string
> & { isSecretRemoved: boolean }

export function formOf(provider: IdentityProvider): ProviderForm {
  const { title, clientId, scopes, nameClaim, groupsClaim, apiAudience } = provider
  return {
    title,
    clientId,
    clientSecret: '',
    scopes: scopes.join(' '),
    nameClaim,
    groupsClaim,
    apiAudience: apiAudience ?? '',
    isSecretRemoved: false,
  }
}

/** Returns the fields of the form that differ from the provider. */
export function changesOf(form: ProviderForm, provider: IdentityProvider): ProviderChange {
  const scopes = form.scopes.split(/\s+/).filter((scope) => scope !== '')
  const audience = form.apiAudience.trim() || null
  const changes: ProviderChange = {}
  for (const field of ['title', 'clientId', 'nameClaim', 'groupsClaim'] as const) {
    if (form[field].trim() !== provider[field]) changes[field] = form[field].trim()
  }
  if (scopes.join(' ') !== provider.scopes.join(' ')) changes.scopes = [...new Set(scopes)]
  if (audience !== provider.apiAudience) changes.apiAudience = audience
  if (form.isSecretRemoved) changes.clientSecret = null
  else if (form.clientSecret !== '') changes.clientSecret = form.clientSecret
  return changes
}

/** Returns whether two mappings assign the same role in the same scope for the same group. */
export function isSameMapping(one: Mapping, other: Mapping): boolean {
  return (
    one.value === other.value && one.role === other.role && (one.accessGroup ?? null) === (other.accessGroup ?? null)
  )
}
