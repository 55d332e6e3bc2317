import { PageHeader } from '../../components/page-header.tsx'

export function AssetsPage() {
  return <PageHeader title="Assets" />
}
