import { useText } from '../../app/language/language-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { Schemas } from './credential-types/credential-types.tsx'
import { Instances } from './instances/credential-list.tsx'
import { credentialMessages } from './messages.ts'
import { Templates } from './monitoring-sets/monitoring-sets.tsx'

export function CredentialsPage() {
  const text = useText(credentialMessages)
  return (
    <TabbedPage
      title={text.title}
      subtitle={text.subtitle}
      label={text.views}
      views={{
        instances: { title: text.instances, View: Instances },
        schemas: { title: text.schemas, View: Schemas },
        templates: { title: text.templates, View: Templates },
      }}
    />
  )
}
