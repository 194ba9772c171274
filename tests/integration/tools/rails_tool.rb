# ActiveRecord: the schema that models load, aggregates, and a model's rows.
require "active_record"

ActiveRecord::Base.establish_connection(adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], username: ENV["PGUSER"],
                                        password: ENV["PGPASSWORD"], database: ENV["PGDATABASE"])
class Patient < ActiveRecord::Base; end
class Visit < ActiveRecord::Base
  self.primary_key = "visit_id"
  belongs_to :patient
end

c = ActiveRecord::Base.connection
puts "catalog tables #{c.tables.sort}"
puts "catalog columns #{Patient.columns.map { |x| [x.name, x.sql_type, x.null, x.default] }}"
puts "catalog keys #{c.primary_key("visits")} #{c.foreign_keys("visits").map { |k| [k.column, k.to_table, k.primary_key] }.sort}"
puts "catalog indexes #{c.indexes("visits").map(&:columns)}"
puts "answer count #{Patient.where("age > 40").count}"
Patient.where(ward: %w[A B]).group(:ward).order(:ward).average(:age).each { |_, age| puts "answer age #{age.to_f}" }
puts "answer cost #{Visit.joins(:patient).where("age > 40").average(:cost).to_f}"
begin
  puts "rows #{Patient.limit(5).to_a.size}"
rescue ActiveRecord::StatementInvalid => e
  puts "refused #{e.message.lines.first}"
end
