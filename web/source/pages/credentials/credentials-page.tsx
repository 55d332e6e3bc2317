import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { CredentialTypes } from './credential-types/credential-types.tsx'
import { CredentialList } from './instances/credential-list.tsx'
import { credentialMessages } from './messages.ts'
import { MonitoringSets } from './monitoring-sets/monitoring-sets.tsx'
import '../assets/assets.css'

export function CredentialsPage() {
  const text = useText(credentialMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        instances: { title: text.instances, View: CredentialList },
        schemas: { title: text.schemas, View: CredentialTypes },
        templates: { title: text.templates, View: MonitoringSets },
      }}
    />
  )
}
