# Sequel: its schema parsing, aggregates of datasets, and a dataset's rows.
require "sequel"

DB = Sequel.connect(adapter: "postgres", host: ENV["PGHOST"], port: ENV["PGPORT"], user: ENV["PGUSER"], password: ENV["PGPASSWORD"],
                    database: ENV["PGDATABASE"])
puts "catalog tables #{DB.tables.sort}"
puts "catalog columns #{DB.schema(:patients).map { |name, c| [name, c[:db_type], c[:allow_null], c[:primary_key], c[:type]] }}"
puts "catalog keys #{DB.foreign_key_list(:visits).map { |k| [k[:columns], k[:table], k[:key]] }.sort_by(&:to_s)}"
puts "catalog indexes #{DB.indexes(:visits).values}"
patients = DB[:patients]
puts "answer count #{patients.where { age > 40 }.count}"
patients.where(ward: %w[A B]).group(:ward).order(:ward).select { [ward, avg(age).as(:age)] }.each { |r| puts "answer age #{r[:age].to_f}" }
puts "answer cost #{DB[:visits].join(:patients, id: :patient_id).where { age > 40 }.avg(:cost).to_f}"
begin
  puts "rows #{patients.limit(5).all.size}"
rescue Sequel::DatabaseError => e
  puts "refused #{e.message.lines.first}"
end
